import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { KeyboardViewModel, type KeyPress } from '../../web/shell/keyboard-view-model.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A keyboard with one group, and the keys that ran. */
function make(...keys: string[]) {
  const keyboard = new KeyboardViewModel()
  const ran: string[] = []
  const add = (name: string, own: readonly string[]) =>
    keyboard.add(name, () => own.map((one) => ({ keys: one, about: '', run: () => ran.push(`${name}: ${one}`) })))
  add('page', keys)
  return { keyboard, ran, add }
}

function key(name: string, fields: Partial<KeyPress> = {}): KeyPress {
  return { key: name, ctrlKey: false, metaKey: false, altKey: false, isWriting: false, ...fields }
}

test('a key runs its shortcut and says so', () => {
  const { keyboard, ran } = make('j')
  expect(keyboard.press(key('j'))).toBe(true)
  expect(keyboard.press(key('k'))).toBe(false)
  expect(ran).toEqual(['page: j'])
})

test('what was added last is asked first, until it is removed', () => {
  const { keyboard, ran, add } = make('j')
  const remove = add('dialog', ['j'])
  keyboard.press(key('j'))
  remove()
  keyboard.press(key('j'))
  expect(ran).toEqual(['dialog: j', 'page: j'])
  expect(keyboard.groups.map(({ name }) => name)).toEqual(['page'])
})

test('keys do nothing while a person writes, except with Control or Command', () => {
  const { keyboard, ran } = make('k', 'mod+k')
  expect(keyboard.press(key('k', { isWriting: true }))).toBe(false)
  expect(keyboard.press(key('K', { isWriting: true, ctrlKey: true }))).toBe(true)
  expect(keyboard.press(key('k', { metaKey: true }))).toBe(true)
  expect(ran).toEqual(['page: mod+k', 'page: mod+k'])
})

test('keys with Alt are the browser’s', () => {
  const { keyboard } = make('j')
  expect(keyboard.press(key('j', { altKey: true }))).toBe(false)
})

test('a chord runs when its keys come within a second', () => {
  const { keyboard, ran } = make('g s', 's')
  keyboard.press(key('g'))
  vi.advanceTimersByTime(999)
  keyboard.press(key('s'))
  keyboard.press(key('g'))
  vi.advanceTimersByTime(1000)
  keyboard.press(key('s'))
  expect(ran).toEqual(['page: g s', 'page: s'])
})

test('the last key of a chord does not begin another one', () => {
  const { keyboard, ran } = make('g g')
  for (let i = 0; i < 3; i++) keyboard.press(key('g'))
  expect(ran).toEqual(['page: g g'])
  keyboard.press(key('g'))
  expect(ran).toEqual(['page: g g', 'page: g g'])
})

test('the shortcuts of a group are read when a key is pressed', () => {
  const keyboard = new KeyboardViewModel()
  const ran: number[] = []
  let count = 0
  keyboard.add('page', () => [{ keys: 'j', about: '', run: () => ran.push(count) }])
  count = 7
  keyboard.press(key('j'))
  expect(ran).toEqual([7])
})

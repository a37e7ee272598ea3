import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { HIDDEN_MS, whileVisible } from '../../web/shell/while-visible.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function make({ hidden = false } = {}) {
  const page = Object.assign(new EventTarget(), { hidden })
  const signals: AbortSignal[] = []
  const end = whileVisible(page as unknown as Document, (signal) => {
    signals.push(signal)
    return new Promise(() => undefined)
  })
  const set = (next: boolean): void => {
    page.hidden = next
    page.dispatchEvent(new Event('visibilitychange'))
  }
  return { signals, end, hide: () => set(true), show: () => set(false) }
}

test('a visible page follows at once', () => {
  expect(make().signals.map(({ aborted }) => aborted)).toEqual([false])
})

test('a hidden page follows when it becomes visible', () => {
  const { signals, show } = make({ hidden: true })
  expect(signals).toHaveLength(0)
  show()
  expect(signals).toHaveLength(1)
})

test('a page that is hidden for a moment goes on following', () => {
  const { signals, hide, show } = make()
  hide()
  vi.advanceTimersByTime(HIDDEN_MS - 1)
  show()
  vi.advanceTimersByTime(HIDDEN_MS * 2)
  expect(signals.map(({ aborted }) => aborted)).toEqual([false])
})

test('a page that stays hidden stops following, and follows again when it is visible', () => {
  const { signals, hide, show } = make()
  hide()
  vi.advanceTimersByTime(HIDDEN_MS)
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  show()
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
})

test('two events of a hidden page leave no timer that ends what follows later', () => {
  const { signals, hide, show } = make()
  hide()
  vi.advanceTimersByTime(10)
  hide()
  show()
  vi.advanceTimersByTime(HIDDEN_MS * 2)
  expect(signals.map(({ aborted }) => aborted)).toEqual([false])
})

test('the end stops following for good', () => {
  const { signals, end, hide, show } = make()
  end()
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  hide()
  show()
  expect(signals).toHaveLength(1)
})

test('the end of a page that is about to stop leaves no timer', () => {
  const { end, hide } = make()
  hide()
  end()
  expect(vi.getTimerCount()).toBe(0)
})

test('an error of what follows is no unhandled rejection', async () => {
  vi.useRealTimers()
  const page = Object.assign(new EventTarget(), { hidden: false })
  const unhandled: unknown[] = []
  const listen = (error: unknown) => void unhandled.push(error)
  process.prependListener('unhandledRejection', listen)
  whileVisible(page as unknown as Document, () => Promise.reject(new Error('no answer')))()
  await new Promise((resolve) => setTimeout(resolve))
  process.off('unhandledRejection', listen)
  expect(unhandled).toEqual([])
})

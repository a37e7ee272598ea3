import { HoldfastError } from 'holdfast/client'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Notice, NoticesViewModel } from '../../web/shell/notices-view-model.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function texts(viewModel: NoticesViewModel): string[] {
  return viewModel.shown.map(({ text }) => text)
}

test('a notice disappears after 8 seconds, an error after 15', () => {
  const viewModel = new NoticesViewModel()
  viewModel.notify('Saved.')
  viewModel.notify('Refused.', { kind: 'failed' })
  vi.advanceTimersByTime(7999)
  expect(texts(viewModel)).toEqual(['Saved.', 'Refused.'])
  vi.advanceTimersByTime(1)
  expect(texts(viewModel)).toEqual(['Refused.'])
  vi.advanceTimersByTime(7000)
  expect(texts(viewModel)).toEqual([])
})

test('at most three notices are shown, the newest ones', () => {
  const viewModel = new NoticesViewModel()
  for (const text of ['one', 'two', 'three', 'four', 'five']) viewModel.notify(text)
  expect(texts(viewModel)).toEqual(['three', 'four', 'five'])
})

test('a dismissed notice does not take another one with it', () => {
  const viewModel = new NoticesViewModel()
  viewModel.notify('one')
  viewModel.dismiss((viewModel.shown[0] as Notice).id)
  vi.advanceTimersByTime(5000)
  viewModel.notify('two')
  vi.advanceTimersByTime(5000)
  expect(texts(viewModel)).toEqual(['two'])
})

test('listeners hear of what is shown and of nothing else', () => {
  const viewModel = new NoticesViewModel()
  const told = vi.fn()
  const forget = viewModel.subscribe(told)
  viewModel.notify('one')
  viewModel.dismiss(12345)
  expect(told).toHaveBeenCalledTimes(1)
  vi.advanceTimersByTime(8000)
  expect(told).toHaveBeenCalledTimes(2)
  forget()
  viewModel.notify('two')
  expect(told).toHaveBeenCalledTimes(2)
})

test('an attempt that succeeds says so, with the way to undo it', async () => {
  const viewModel = new NoticesViewModel()
  const undo = vi.fn(async () => undefined)
  expect(await viewModel.attempt(async () => undefined, 'Deleted.', undo)).toBe(true)
  expect(viewModel.shown).toMatchObject([{ text: 'Deleted.', kind: 'done', undo }])
})

test('an attempt without a text shows nothing when it succeeds', async () => {
  const viewModel = new NoticesViewModel()
  expect(await viewModel.attempt(async () => undefined)).toBe(true)
  expect(viewModel.shown).toEqual([])
})

test.each([
  [new HoldfastError('NOT_FOUND', 'No session "a".'), 'No session "a".'],
  [new TypeError('fetch failed'), 'fetch failed'],
  ['a word', 'a word'],
])('an attempt that fails shows the message of the error: %s', async (error, text) => {
  const viewModel = new NoticesViewModel()
  expect(await viewModel.attempt(() => Promise.reject(error), 'Deleted.')).toBe(false)
  expect(viewModel.shown).toMatchObject([{ text, kind: 'failed' }])
})

test('undo removes the notice, runs once and reports', async () => {
  const viewModel = new NoticesViewModel()
  const undo = vi.fn(async () => undefined)
  await viewModel.attempt(async () => undefined, 'Deleted.', undo)
  await viewModel.undo(viewModel.shown[0] as Notice)
  expect(undo).toHaveBeenCalledTimes(1)
  expect(texts(viewModel)).toEqual(['Undone'])
})

test('an undo that fails shows the error', async () => {
  const viewModel = new NoticesViewModel()
  viewModel.notify('Deleted.', { undo: () => Promise.reject(new Error('no answer')) })
  await viewModel.undo(viewModel.shown[0] as Notice)
  expect(viewModel.shown).toMatchObject([{ text: 'no answer', kind: 'failed' }])
})

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type StoredMessage, TranscriptViewModel } from '../../web/session/transcript-view-model.ts'
import { Feed, Questions, settled } from './pending.ts'

type Change = Parameters<TranscriptViewModel['apply']>[0]
type Page = { readonly messages: readonly StoredMessage[]; readonly more?: boolean }

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function stored(depth: number, content: unknown = `text ${depth}`, role = 'user'): StoredMessage {
  const message = { role, content } as StoredMessage['message']
  return { id: `m${depth}`, at: '2026-01-01T00:00:00.000Z', depth, archive: null, replaced: false, message }
}

/** The messages of two depths and those between. */
function range(from: number, to: number, text = 'text'): Page {
  return { messages: Array.from({ length: to - from + 1 }, (_, index) => stored(from + index, `${text} ${from + index}`)) }
}

/** `count` messages after the first `before` ones. */
function appended(before: number, count = 1, text = 'new'): Change {
  const messages = range(before + 1, before + count, text).messages.map(({ id, message }) => ({ id, message }))
  return { type: 'messages.appended', at: '2026-01-01T00:00:00.000Z', messages, record: { n: before } } as unknown as Change
}

function changed(type: string): Change {
  return { type, at: '', messages: [], record: {} } as unknown as Change
}

function make() {
  const reads = new Questions<number | undefined, Page>()
  const read = async (depth: number | undefined) => ({ more: false, ...(await reads.ask(depth)) })
  return { viewModel: new TranscriptViewModel(read), reads }
}

async function opened(total: number) {
  const made = make()
  void made.viewModel.open()
  await made.reads.last.answer(total === 0 ? { messages: [] } : range(Math.max(total - 99, 1), total))
  return made
}

function textAt(viewModel: TranscriptViewModel, depth: number): unknown {
  return viewModel.at(depth)?.message.content
}

test('a transcript opens with the last page, and knows its length from it', async () => {
  const { viewModel, reads } = make()
  void viewModel.open()
  expect(viewModel.isOpen).toBe(false)
  expect(reads.last.asked).toBeUndefined()
  await reads.last.answer(range(151, 250))
  expect(viewModel.isOpen).toBe(true)
  expect(viewModel.total).toBe(250)
  expect(textAt(viewModel, 250)).toBe('text 250')
  expect(viewModel.at(1)).toBeUndefined()
  expect(reads.count).toBe(1)
})

test('an empty transcript is open', async () => {
  const { viewModel } = await opened(0)
  expect(viewModel.isOpen).toBe(true)
  expect(viewModel.total).toBe(0)
})

test('a message that its page lacks is damaged, and one of an unread page is unknown', async () => {
  const { viewModel, reads } = make()
  void viewModel.open()
  await reads.last.answer({ messages: range(101, 200).messages.filter(({ depth }) => depth !== 150) })
  expect(viewModel.at(150)).toBeNull()
  expect(viewModel.at(50)).toBeUndefined()
})

test('a page of which the answer holds a part is read when it is wanted', async () => {
  const { viewModel, reads } = make()
  void viewModel.open()
  await reads.last.answer(range(151, 250))
  viewModel.want(140, 250)
  expect(reads.all.slice(1).map(({ asked }) => asked)).toEqual([101])
  await reads.last.answer(range(101, 200))
  expect(textAt(viewModel, 140)).toBe('text 140')
})

test('pages are read where a person looks, each once', async () => {
  const { viewModel, reads } = await opened(1000)
  viewModel.want(95, 205)
  viewModel.want(95, 205)
  expect(reads.all.slice(1).map(({ asked }) => asked)).toEqual([1, 101, 201])
  await reads.at(1).answer(range(1, 100))
  viewModel.want(95, 205)
  expect(reads.count).toBe(4)
  expect(textAt(viewModel, 100)).toBe('text 100')
})

test('a page that is longer than asked for adds nothing to the next page', async () => {
  const { viewModel, reads } = await opened(1000)
  viewModel.want(1, 50)
  await reads.last.answer(range(1, 150))
  expect(viewModel.at(101)).toBeUndefined()
})

test('an appended message is shown at the end', async () => {
  const { viewModel, reads } = await opened(3)
  viewModel.apply(appended(3, 2))
  expect(viewModel.total).toBe(5)
  expect(textAt(viewModel, 5)).toBe('new 5')
  expect(reads.count).toBe(1)
})

test('applying an append twice changes nothing', async () => {
  const { viewModel } = await opened(3)
  viewModel.apply(appended(3, 2))
  viewModel.apply(appended(3, 2))
  expect(viewModel.total).toBe(5)
  expect([1, 2, 3, 4, 5].map((depth) => viewModel.at(depth)?.id)).toEqual(['m1', 'm2', 'm3', 'm4', 'm5'])
})

test('an append that begins a page leaves nothing to read in it', async () => {
  const { viewModel, reads } = await opened(100)
  viewModel.want(90, 100)
  viewModel.apply(appended(100))
  viewModel.want(90, 101)
  expect(reads.count).toBe(1)
  expect(textAt(viewModel, 101)).toBe('new 101')
})

test('an append after an earlier message forgets the other branch', async () => {
  const { viewModel } = await opened(10)
  viewModel.apply(appended(4, 1, 'branch'))
  expect(viewModel.total).toBe(5)
  expect(textAt(viewModel, 5)).toBe('branch 5')
  expect(viewModel.at(6)).not.toMatchObject({ id: 'm6' })
})

test('an append that leaves a hole reads the end again', async () => {
  const { viewModel, reads } = await opened(3)
  viewModel.apply(appended(5))
  expect(reads.count).toBe(2)
  await reads.last.answer(range(1, 6))
  expect(viewModel.total).toBe(6)
  expect(textAt(viewModel, 4)).toBe('text 4')
})

test.each(['head.moved', 'reset', 'session.restored'])('%s reads the end again', async (type) => {
  const { viewModel, reads } = await opened(10)
  viewModel.apply(changed(type))
  expect(reads.count).toBe(2)
  expect(reads.last.asked).toBeUndefined()
  await reads.last.answer(range(1, 7, 'other'))
  expect(viewModel.total).toBe(7)
  expect(textAt(viewModel, 7)).toBe('other 7')
  expect(viewModel.at(8)).not.toMatchObject({ id: 'm8' })
})

test('an answer about the end reads the pages in sight again', async () => {
  const { viewModel, reads } = await opened(1000)
  viewModel.want(1, 50)
  await reads.last.answer(range(1, 100))
  viewModel.apply(changed('reset'))
  await reads.last.answer(range(901, 1000))
  expect(reads.last.asked).toBe(1)
  await reads.last.answer(range(1, 100, 'changed'))
  expect(textAt(viewModel, 10)).toBe('changed 10')
})

test.each(['message.replaced', 'message.erased'])('%s reads the pages in sight again', async (type) => {
  const { viewModel, reads } = await opened(10)
  viewModel.want(1, 10)
  viewModel.apply(changed(type))
  expect(reads.last.asked).toBe(1)
  await reads.last.answer(range(1, 10, 'changed'))
  expect(textAt(viewModel, 3)).toBe('changed 3')
})

test('another change reads nothing', async () => {
  const { viewModel, reads } = await opened(10)
  viewModel.want(1, 10)
  viewModel.apply(changed('commit.completed'))
  expect(reads.count).toBe(1)
})

test('the answer to an older question about the end is ignored', async () => {
  const { viewModel, reads } = await opened(10)
  viewModel.apply(changed('head.moved'))
  viewModel.apply(changed('head.moved'))
  await reads.at(2).answer(range(1, 5, 'newer'))
  await reads.at(1).answer(range(1, 8, 'older'))
  expect(viewModel.total).toBe(5)
  expect(textAt(viewModel, 5)).toBe('newer 5')
})

test('the failure of an older question about the end is ignored', async () => {
  const { viewModel, reads } = await opened(10)
  viewModel.apply(changed('head.moved'))
  viewModel.apply(changed('head.moved'))
  await reads.at(2).answer(range(1, 5))
  await reads.at(1).fail(new Error('no answer'))
  expect(viewModel.error).toBeUndefined()
})

test('a message that is appended while the end is read survives an older answer', async () => {
  const { viewModel, reads } = await opened(10)
  viewModel.apply(changed('head.moved'))
  viewModel.apply(appended(10, 2))
  await reads.last.answer(range(1, 10))
  expect(viewModel.total).toBe(12)
  expect(textAt(viewModel, 12)).toBe('new 12')
})

test('a message that was appended before the end is read is not added to the answer', async () => {
  const { viewModel, reads } = await opened(10)
  viewModel.apply(appended(10))
  void viewModel.open()
  await reads.last.answer(range(1, 4))
  expect(viewModel.total).toBe(4)
})

test('the answer about a page from before an erasure is ignored and read again', async () => {
  const { viewModel, reads } = await opened(300)
  viewModel.want(1, 50)
  viewModel.apply(changed('message.erased'))
  await reads.at(1).answer(range(1, 100, 'erased'))
  expect(viewModel.at(5)).toBeUndefined()
  expect(reads.last.asked).toBe(1)
  expect(reads.count).toBe(3)
  await reads.last.answer(range(1, 100, 'left'))
  expect(textAt(viewModel, 5)).toBe('left 5')
})

test('the answer about a page from before the branch changed is ignored', async () => {
  const { viewModel, reads } = await opened(300)
  viewModel.want(101, 150)
  viewModel.apply(appended(120, 1, 'branch'))
  await reads.at(1).answer(range(101, 200, 'other branch'))
  expect(textAt(viewModel, 121)).toBe('branch 121')
  expect(viewModel.at(130)).not.toMatchObject({ id: 'm130' })
  expect(viewModel.total).toBe(121)
})

test('the answer about the end from before an erasure is ignored and asked for again', async () => {
  const { viewModel, reads } = make()
  void viewModel.open()
  viewModel.apply(changed('message.erased'))
  expect(reads.count).toBe(2)
  await reads.at(0).answer(range(1, 5, 'erased'))
  expect(viewModel.isOpen).toBe(false)
  await reads.at(1).answer(range(1, 5, 'left'))
  expect(textAt(viewModel, 5)).toBe('left 5')
})

test('an error keeps what is shown, and the next answer about the end removes it', async () => {
  const { viewModel, reads } = await opened(10)
  void viewModel.open()
  const refused = new Error('no answer')
  await reads.last.fail(refused)
  expect(viewModel.error).toBe(refused)
  expect(viewModel.isOpen).toBe(true)
  expect(textAt(viewModel, 10)).toBe('text 10')
  void viewModel.open()
  await reads.last.answer(range(1, 10))
  expect(viewModel.error).toBeUndefined()
})

test('a page that could not be read is asked for again when it is wanted', async () => {
  const { viewModel, reads } = await opened(1000)
  viewModel.want(1, 50)
  await reads.last.fail(new Error('no answer'))
  expect(viewModel.error).toBeDefined()
  expect(viewModel.at(1)).toBeUndefined()
  viewModel.want(1, 50)
  expect(reads.count).toBe(3)
})

test('pages far from where a person looks are forgotten, and read again there', async () => {
  const { viewModel, reads } = await opened(20_000)
  for (let page = 0; page < 60; page++) {
    viewModel.want(page * 100 + 1, page * 100 + 50)
    await reads.last.answer(range(page * 100 + 1, page * 100 + 100))
  }
  expect(viewModel.at(1)).toBeUndefined()
  expect(viewModel.at(5950)).toBeDefined()
  expect(viewModel.at(5000)).toBeDefined()
  expect(viewModel.at(20_000)).toBeDefined()
  const before = reads.count
  viewModel.want(1, 50)
  expect(reads.count).toBe(before + 1)
})

test('a watched transcript does not grow with the messages that are appended', async () => {
  const { viewModel } = await opened(100)
  viewModel.want(50, 100)
  for (let total = 100; total < 12_000; total += 100) viewModel.apply(appended(total, 100))
  expect(viewModel.total).toBe(12_000)
  expect(viewModel.at(60)).toBeDefined()
  expect(viewModel.at(6000)).toBeUndefined()
  expect(viewModel.at(12_000)).toBeDefined()
})

const CALL = [{ type: 'tool_use', id: 'call-1', name: 'read', input: {} }]
const RESULT = [{ type: 'tool_result', tool_use_id: 'call-1', content: 'found' }]

test('a result is shown with its call, and its own message is not', async () => {
  const { viewModel, reads } = make()
  void viewModel.open()
  const result = stored(2, RESULT)
  await reads.last.answer({ messages: [stored(1, CALL, 'assistant'), result, stored(3, 'text')] })
  expect(viewModel.resultOf('call-1')).toMatchObject({ id: 'call-1', output: 'found' })
  expect(viewModel.isShownElsewhere(result)).toBe(true)
  expect(viewModel.isShownElsewhere(stored(3, 'text'))).toBe(false)
})

test('a result without its call, or with text, is shown itself', async () => {
  const { viewModel, reads } = make()
  void viewModel.open()
  const [early, spoken] = [stored(1, RESULT), stored(3, [...RESULT, { type: 'text', text: 'and more' }])]
  await reads.last.answer({ messages: [early, stored(2, CALL, 'assistant'), spoken] })
  expect(viewModel.isShownElsewhere(early)).toBe(false)
  expect(viewModel.isShownElsewhere(spoken)).toBe(false)
})

test('a forgotten branch takes its results with it', async () => {
  const { viewModel, reads } = make()
  void viewModel.open()
  await reads.last.answer({ messages: [stored(1, CALL, 'assistant'), stored(2, RESULT)] })
  viewModel.apply(appended(1))
  expect(viewModel.resultOf('call-1')).toBeUndefined()
})

test('the view of a message is made once', async () => {
  const { viewModel } = await opened(3)
  const message = viewModel.at(2) as StoredMessage
  expect(viewModel.view(message)).toBe(viewModel.view(message))
  expect(viewModel.view(message).text).toBe('text 2')
})

test('listeners hear at once, then at most every 80 ms', async () => {
  const { viewModel } = await opened(3)
  vi.advanceTimersByTime(1000)
  const versions: number[] = []
  const forget = viewModel.subscribe(() => versions.push(viewModel.version))
  viewModel.apply(appended(3))
  vi.advanceTimersByTime(0)
  expect(versions).toHaveLength(1)
  for (let total = 4; total < 50; total++) viewModel.apply(appended(total))
  vi.advanceTimersByTime(79)
  expect(versions).toHaveLength(1)
  vi.advanceTimersByTime(1)
  expect(versions).toHaveLength(2)
  expect(versions[1]).toBe((versions[0] as number) + 1)
  forget()
  viewModel.apply(appended(50))
  vi.advanceTimersByTime(1000)
  expect(versions).toHaveLength(2)
})

test('a transcript follows: it opens first, then applies every change', async () => {
  const { viewModel, reads } = make()
  const [feed, onChange] = [new Feed<Change>(), vi.fn()]
  const following = viewModel.follow(feed, onChange)
  await feed.send(appended(3))
  expect(onChange).not.toHaveBeenCalled()
  await reads.last.answer(range(1, 3))
  await settled()
  expect(viewModel.total).toBe(4)
  await feed.send(appended(4))
  expect(viewModel.total).toBe(5)
  expect(onChange).toHaveBeenCalledTimes(2)
  await feed.end()
  await following
})

test('an answer with no later message ends the reading of a page', async () => {
  const { viewModel, reads } = await opened(250)
  viewModel.want(1, 20)
  await reads.last.answer({ ...range(1, 2), more: true })
  await reads.last.answer({ ...range(1, 2), more: true })
  expect(reads.count).toBe(3)
})

test('a page whose messages are large comes in several answers', async () => {
  const { viewModel, reads } = await opened(250)
  viewModel.want(1, 20)
  expect(reads.last.asked).toBe(1)
  await reads.last.answer({ ...range(1, 2), more: true })
  expect(reads.last.asked).toBe(3)
  await reads.last.answer({ ...range(3, 99), more: true })
  expect(reads.last.asked).toBe(100)
  await reads.last.answer({ ...range(100, 101), more: true })
  expect(reads.count).toBe(4)
  for (const depth of [1, 3, 100]) expect(textAt(viewModel, depth)).toBe(`text ${depth}`)
})

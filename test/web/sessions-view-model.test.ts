import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type ListOptions, type SessionInfo, SessionsViewModel } from '../../web/sessions/sessions-view-model.ts'
import { Feed, Questions, settled } from './pending.ts'

interface ListPage {
  readonly sessions: readonly SessionInfo[]
  readonly cursor: string | null
  readonly total?: number
}

const FRAME_MS = 16

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('requestAnimationFrame', (callback: () => void) => setTimeout(callback, FRAME_MS))
  vi.stubGlobal('cancelAnimationFrame', (frame: number) => clearTimeout(frame))
})

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

function info(id: string, fields: Partial<SessionInfo> = {}): SessionInfo {
  return { id, status: 'ok', createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-02T00:00:00.000Z', ...fields } as SessionInfo
}

function infos(count: number, from = 0): SessionInfo[] {
  return Array.from({ length: count }, (_, index) => info(`s${from + index}`))
}

function make(options: ListOptions = {}) {
  const lists = new Questions<ListOptions, ListPage>()
  const changes = new Feed<SessionInfo | undefined>()
  const signals: (AbortSignal | undefined)[] = []
  const server = {
    list: lists.ask,
    changes: ({ signal }: { signal?: AbortSignal } = {}) => {
      signals.push(signal)
      return changes[Symbol.asyncIterator]()
    },
  } as unknown as ConstructorParameters<typeof SessionsViewModel>[0]
  return { viewModel: new SessionsViewModel(server, options), lists, changes, signals }
}

/** A list that has read its first page: three sessions of three, unless more are said to exist. */
async function opened(options: ListOptions = {}, page: ListPage = { sessions: infos(3), cursor: null, total: 3 }) {
  const made = make(options)
  made.viewModel.want(1)
  await made.lists.last.answer(page)
  vi.advanceTimersByTime(FRAME_MS)
  return made
}

function ids(viewModel: SessionsViewModel): string[] {
  return viewModel.rows.map(({ id }) => id)
}

test('the list is not loaded before the first page is there', async () => {
  const { viewModel, lists } = make()
  viewModel.want(1)
  expect(viewModel.isLoaded).toBe(false)
  expect(lists.last.asked).toEqual({ limit: 100, count: true })
  await lists.last.answer({ sessions: infos(2), cursor: null, total: 2 })
  expect(viewModel.isLoaded).toBe(true)
  expect(ids(viewModel)).toEqual(['s0', 's1'])
  expect(viewModel.total).toBe(2)
})

test('the list passes its filters with every page', async () => {
  const { lists } = await opened({ tag: 'red' }, { sessions: infos(1), cursor: 'c', total: 5 }).then((made) => {
    made.viewModel.want(4)
    return made
  })
  expect(lists.all.map(({ asked }) => asked.tag)).toEqual(['red', 'red'])
  expect(lists.last.asked.cursor).toBe('c')
})

test('the list reads page after page until it has as many as are wanted', async () => {
  const { viewModel, lists } = await opened({}, { sessions: infos(100), cursor: 'one', total: 500 })
  viewModel.want(301)
  expect(lists.last.asked).toEqual({ limit: 200, cursor: 'one' })
  await lists.last.answer({ sessions: infos(200, 100), cursor: 'two' })
  expect(lists.last.asked.cursor).toBe('two')
  await lists.last.answer({ sessions: infos(200, 300), cursor: null })
  expect(lists.count).toBe(3)
  expect(viewModel.rows).toHaveLength(500)
  viewModel.want(1000)
  expect(lists.count).toBe(3)
})

test('the list keeps the total of the first page while it reads on', async () => {
  const { viewModel, lists } = await opened({}, { sessions: infos(100), cursor: 'one', total: 5000 })
  viewModel.want(150)
  await lists.last.answer({ sessions: infos(200, 100), cursor: 'two' })
  expect(viewModel.total).toBe(5000)
})

test('the list reads large pages when many are missing', async () => {
  const { viewModel, lists } = await opened({}, { sessions: infos(100), cursor: 'one', total: 9000 })
  viewModel.want(5000)
  expect(lists.last.asked.limit).toBe(1000)
})

test('the list asks for one page at a time', async () => {
  const { viewModel, lists } = await opened({}, { sessions: infos(100), cursor: 'one', total: 500 })
  viewModel.want(150)
  viewModel.want(200)
  void viewModel.reload()
  expect(lists.count).toBe(2)
})

test('a session that moved between two pages is shown once', async () => {
  const { viewModel, lists } = await opened({}, { sessions: infos(2), cursor: 'one', total: 4 })
  viewModel.want(4)
  await lists.last.answer({ sessions: [info('s1'), info('s2')], cursor: null })
  expect(ids(viewModel)).toEqual(['s0', 's1', 's2'])
  expect(viewModel.total).toBe(3)
})

test('a changed session moves to the front', async () => {
  const { viewModel } = await opened()
  viewModel.apply(info('s2', { title: 'new' }))
  expect(ids(viewModel)).toEqual(['s2', 's0', 's1'])
  expect(viewModel.rows[0]?.title).toBe('new')
  expect(viewModel.total).toBe(3)
})

test('places follow the rows after a session moved', async () => {
  const { viewModel } = await opened({}, { sessions: infos(80), cursor: null, total: 80 })
  expect(viewModel.placeOf('s70')).toBe(70)
  viewModel.apply(info('s75'))
  expect(viewModel.placeOf('s75')).toBe(0)
  expect(viewModel.placeOf('s70')).toBe(71)
  expect(viewModel.placeOf('unknown')).toBeUndefined()
})

test('a new session counts, and one that was not read yet does not', async () => {
  const { viewModel } = await opened({}, { sessions: infos(3), cursor: 'more', total: 9 })
  viewModel.apply(info('old'))
  expect(viewModel.total).toBe(9)
  viewModel.apply(info('new', { createdAt: '2026-01-02T00:00:00.000Z' }))
  expect(viewModel.total).toBe(10)
})

test('a session keeps its place while a person reads further down, and waits to be shown', async () => {
  const { viewModel, lists } = await opened()
  viewModel.mayMove = false
  viewModel.apply(info('s2', { title: 'new' }))
  viewModel.apply(info('s3'))
  expect(ids(viewModel)).toEqual(['s0', 's1', 's2'])
  expect(viewModel.rows[2]?.title).toBe('new')
  expect([...viewModel.waiting]).toEqual(['s2', 's3'])
  void viewModel.reload()
  expect(viewModel.waiting.size).toBe(0)
  expect(lists.count).toBe(2)
})

test('a deleted session leaves the list', async () => {
  const { viewModel } = await opened()
  viewModel.apply(info('s1', { status: 'deleted' }))
  expect(ids(viewModel)).toEqual(['s0', 's2'])
  expect(viewModel.total).toBe(2)
  viewModel.apply(info('elsewhere', { status: 'deleted' }))
  expect(viewModel.total).toBe(2)
})

test('the list of deleted sessions keeps a deleted session', async () => {
  const { viewModel } = await opened({ status: 'deleted' })
  viewModel.apply(info('s1', { status: 'deleted' }))
  expect(ids(viewModel)).toEqual(['s0', 's1', 's2'])
})

test('a list by title changes its rows in place', async () => {
  const { viewModel, lists } = await opened({ order: 'title' })
  viewModel.apply(info('s1', { title: 'new' }))
  expect(ids(viewModel)).toEqual(['s0', 's1', 's2'])
  expect(viewModel.rows[1]?.title).toBe('new')
  vi.advanceTimersByTime(5000)
  expect(lists.count).toBe(1)
})

test('a filtered list is read again once after many changes', async () => {
  const { viewModel, lists } = await opened({ tag: 'red' })
  viewModel.apply(info('s7'))
  viewModel.apply(info('s8'))
  expect(ids(viewModel)).toEqual(['s0', 's1', 's2'])
  vi.advanceTimersByTime(999)
  expect(lists.count).toBe(1)
  vi.advanceTimersByTime(1)
  expect(lists.count).toBe(2)
  await lists.last.answer({ sessions: infos(1), cursor: null, total: 1 })
  viewModel.apply(info('s9'))
  vi.advanceTimersByTime(1000)
  expect(lists.count).toBe(3)
})

test('a change that arrives while the first page is read survives an older answer', async () => {
  const { viewModel, lists } = await opened()
  void viewModel.reload()
  viewModel.apply(info('s1', { title: 'newer' }))
  await lists.last.answer({ sessions: infos(3), cursor: null, total: 3 })
  expect(ids(viewModel)).toEqual(['s1', 's0', 's2'])
  expect(viewModel.rows[0]?.title).toBe('newer')
})

test('a deletion that arrives while the first page is read survives an older answer', async () => {
  const { viewModel, lists } = await opened()
  void viewModel.reload()
  viewModel.apply(info('s1', { status: 'deleted' }))
  await lists.last.answer({ sessions: infos(3), cursor: null, total: 3 })
  expect(ids(viewModel)).toEqual(['s0', 's2'])
})

test('a change before a reload is not applied over the answer', async () => {
  const { viewModel, lists } = await opened()
  viewModel.apply(info('s1', { title: 'older' }))
  void viewModel.reload()
  await lists.last.answer({ sessions: [info('s1', { title: 'newest' })], cursor: null, total: 1 })
  expect(viewModel.rows[0]?.title).toBe('newest')
})

test('a reload that is asked for while a page is read follows it', async () => {
  const { viewModel, lists } = await opened()
  void viewModel.reload()
  void viewModel.reload()
  expect(lists.count).toBe(2)
  await lists.last.answer({ sessions: infos(1), cursor: null, total: 1 })
  expect(lists.count).toBe(3)
  await lists.last.answer({ sessions: infos(2), cursor: null, total: 2 })
  expect(ids(viewModel)).toEqual(['s0', 's1'])
  expect(lists.count).toBe(3)
})

test('a reload keeps the rows until there are others', async () => {
  const { viewModel, lists } = await opened()
  void viewModel.reload()
  expect(ids(viewModel)).toEqual(['s0', 's1', 's2'])
  await lists.last.answer({ sessions: [], cursor: null, total: 0 })
  expect(ids(viewModel)).toEqual([])
})

test('an error stops reading until a reload, and keeps the rows', async () => {
  const { viewModel, lists } = await opened({}, { sessions: infos(100), cursor: 'one', total: 500 })
  viewModel.want(150)
  const refused = new Error('no answer')
  await lists.last.fail(refused)
  expect(viewModel.error).toBe(refused)
  expect(viewModel.rows).toHaveLength(100)
  viewModel.want(200)
  expect(lists.count).toBe(2)
  // In the same turn as the call that found nothing to do.
  void viewModel.reload()
  expect(viewModel.error).toBeUndefined()
  await settled()
  expect(lists.count).toBe(3)
  await lists.last.answer({ sessions: infos(1), cursor: null, total: 1 })
  expect(ids(viewModel)).toEqual(['s0'])
})

test('listeners hear of many changes once a frame, with another version', async () => {
  const { viewModel } = await opened()
  const versions: number[] = []
  const forget = viewModel.subscribe(() => versions.push(viewModel.version))
  const before = viewModel.version
  for (let i = 0; i < 100; i++) viewModel.apply(info('s2'))
  expect(versions).toEqual([])
  vi.advanceTimersByTime(FRAME_MS)
  expect(versions).toEqual([before + 1])
  forget()
  viewModel.apply(info('s1'))
  vi.advanceTimersByTime(FRAME_MS)
  expect(versions).toHaveLength(1)
})

test('the list follows the changes of the server and reads again when some may be missing', async () => {
  const { viewModel, lists, changes, signals } = await opened()
  const controller = new AbortController()
  const following = viewModel.follow(controller.signal)
  await settled()
  expect(signals).toEqual([controller.signal])
  await changes.send(undefined)
  expect(lists.count).toBe(2)
  // The page is not there yet, and the change is shown already.
  await changes.send(info('s2', { title: 'new' }))
  expect(viewModel.rows[0]?.title).toBe('new')
  await changes.end()
  await following
})

test('a closed list asks for nothing and tells no one', async () => {
  const { viewModel, lists } = await opened({ tag: 'red' }, { sessions: infos(3), cursor: 'more', total: 9 })
  const told = vi.fn()
  viewModel.subscribe(told)
  viewModel.apply(info('s7'))
  viewModel.close()
  expect(vi.getTimerCount()).toBe(0)
  viewModel.want(9)
  await settled()
  vi.advanceTimersByTime(5000)
  expect(lists.count).toBe(1)
  expect(told).not.toHaveBeenCalled()
})

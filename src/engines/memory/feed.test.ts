import { expect, test } from 'vitest'
import { Feed } from './feed.ts'

test('a cursor from before what is kept says reset, and one from behind it does not', () => {
  const feed = new Feed('epoch', 10)
  const cursors = [feed.since(undefined).cursor]
  for (let index = 0; index < 100; index++) {
    feed.announce(`journal ${index}`)
    cursors.push(feed.since(undefined).cursor)
  }
  for (const [index, cursor] of cursors.entries()) {
    const { names, reset } = feed.since(cursor)
    if (index >= 90)
      expect({ names, reset }).toEqual({ names: Array.from({ length: 100 - index }, (_, n) => `journal ${index + n}`), reset: false })
    else expect(reset || names.length === 100 - index).toBe(true)
  }
  expect(feed.since(cursors[0]).reset).toBe(true)
})

test('a journal that changed often is named once', () => {
  const feed = new Feed('epoch')
  const { cursor } = feed.since(undefined)
  for (let index = 0; index < 5; index++) feed.announce('one')
  feed.announce('two')
  expect(feed.since(cursor).names).toEqual(['one', 'two'])
})

test('a cursor of another epoch, of the future or of no feed at all says reset', () => {
  const feed = new Feed('epoch')
  feed.announce('one')
  for (const cursor of ['other.1', 'epoch.2', 'epoch.-1', 'epoch.', 'epoch', 'epoch.1.1', 'epoch.1e0', 'epoch. 1', '']) {
    expect(feed.since(cursor), cursor).toEqual({ cursor: 'epoch.1', names: [], reset: true })
  }
  expect(feed.since('epoch.1').reset).toBe(false)
})

test('one hint stands for a burst, comes later, and each watcher stops itself alone', async () => {
  const feed = new Feed('epoch')
  let calls = 0
  const hint = () => {
    calls += 1
  }
  const stop = feed.watch(hint)
  feed.watch(hint)
  feed.announce('one')
  feed.announce('two')
  expect(calls).toBe(0)
  await Promise.resolve()
  expect(calls).toBe(2)
  stop()
  feed.announce('three')
  await Promise.resolve()
  expect(calls).toBe(3)
})

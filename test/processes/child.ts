/** What a child program knows of the test that started it. */
import { once } from 'node:events'

export function childOptions<T>(): T {
  return JSON.parse(process.argv[2] ?? '') as T
}

/** The test wants no more, or is dead. */
export function testIsDone(): Promise<void> {
  process.stdin.resume()
  return once(process.stdin, 'end').then(() => undefined)
}

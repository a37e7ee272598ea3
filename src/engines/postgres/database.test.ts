import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../engine/clock.ts'
import { Database } from './database.ts'

/** A message of the protocol: its kind, its length, what it says. */
function packet(kind: string, ...parts: (string | number[])[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part as string)))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(kind), length, body])
}

test('a server that greets and says good-bye in one packet, as one that is killed does, ends no process', async () => {
  const greeting = packet('R', [0, 0, 0, 0])
  const goodbye = packet('E', 'SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0')
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end(Buffer.concat([greeting, packet('Z', 'I'), goodbye])))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const url = `postgres://nobody@127.0.0.1:${(server.address() as AddressInfo).port}/none`
  const database = new Database({ url }, systemClock)
  onTestFinished(() => database.close())
  // An error that nobody hears would fail the run.
  for (let i = 0; i < 3; i++) await expect(database.run({ text: 'SELECT 1' })).rejects.toThrow()
})

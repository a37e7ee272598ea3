/**
 * A process that writes notes to a session, one after the other, and says each one that was acknowledged on a line of its own. It stops
 * after so many notes, or never.
 *
 *   node build/test/failures/writer/main.js <directory> <name> <count>
 */
import { writeSync } from 'node:fs'
import { open, write } from '../journal.ts'

const [directory = '', name = '', count = '0'] = process.argv.slice(2)
const last = count === '0' ? Number.POSITIVE_INFINITY : Number(count)

const { engine, replica } = await open({ directory, segmentBytes: 20_000 })
for (let i = 0; i < last; i++) {
  const note = `${name} ${i}`
  await replica.submit(write(note))
  // Synchronous, so that nothing that was acknowledged can be lost with the process.
  writeSync(1, `${note}\n`)
}
await engine.close()

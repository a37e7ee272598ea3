/** The yardstick over HTTP: a bare route that parses the body, writes it to one of 32 files and has it on the disk. Decides nothing, checks nothing. */
import { type FileHandle, open } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'

const directory = process.argv[2] ?? '.'
const files: FileHandle[] = await Promise.all(Array.from({ length: 32 }, (_, i) => open(join(directory, `file-${i}`), 'a')))

const app = new Hono()
app.post('/files/:number', async (c) => {
  const message = (await c.req.json()) as object
  const file = files[Number(c.req.param('number'))] as FileHandle
  await file.write(`${JSON.stringify(message)}\n`)
  await file.datasync()
  return c.json({ status: 'ok', result: { written: true } })
})
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }: AddressInfo) => console.log(JSON.stringify({ port })))

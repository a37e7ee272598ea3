/** hostile-client PORT KEY HOSTILITY: keeps 64 connections busy until its standard input ends. Counts no answer, and sends again at once. */
import { connect } from 'node:net'
import { type Hostility, hostileRequest } from './hostile-requests.ts'

const CONNECTIONS = 64

const [port, key = '', hostility] = process.argv.slice(2)
let count = 0

function keepBusy(): void {
  const socket = connect(Number(port), '127.0.0.1')
  let isAnswered = true
  let quiet: NodeJS.Timeout | undefined
  const send = (): void => {
    isAnswered = false
    socket.write(hostileRequest(hostility as Hostility, key, count++))
  }
  // An answer has ended when its terminator or, for a short one, everything has come: good enough for a client that reads none of it.
  socket.on('data', (data: Buffer) => {
    clearTimeout(quiet)
    if (isAnswered) return
    if (data.subarray(-5).toString('latin1') === '0\r\n\r\n' || data.length < 16_000) {
      isAnswered = true
      send()
    } else quiet = setTimeout(send, 5)
  })
  socket.on('connect', send)
  socket.on('error', () => undefined)
  socket.on('close', () => setTimeout(keepBusy, 5).unref())
}

for (let i = 0; i < CONNECTIONS; i++) keepBusy()
process.stdin.resume()
process.stdin.once('end', () => process.exit())
setTimeout(() => console.log('busy'), 500)

/** Appending over HTTP against a bare route on the same disk. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { startBare, startHoldfast } from './child-server.ts'
import { type Benchmark, figure, interleave, percentile, ratios } from './harness.ts'
import { load, postRequest } from './http-load.ts'
import { TEXT } from './session.ts'

const CONNECTIONS = 32

export const httpAppend: Benchmark = {
  name: 'http-append',
  about:
    'one message of 1 KiB a request, 32 connections, 32 sessions, with keys and the worker inside, against a bare Hono route that parses the same body and does one `write` and one `fdatasync` to one of 32 files.',
  async run({ directory, quick }) {
    await mkdir(join(directory, 'bare'))
    const [holdfast, bare] = [await startHoldfast(join(directory, 'store')), await startBare(join(directory, 'bare'))]
    const body = JSON.stringify({ role: 'user', content: TEXT })
    const milliseconds = quick ? 500 : 3000
    const each = (request: (i: number) => string): string[] => Array.from({ length: CONNECTIONS }, (_, i) => request(i))
    const requests = {
      holdfast: each((i) => postRequest(`/api/v1/sessions/bench-${i}/messages`, body, { 'x-api-key': holdfast.key })),
      bare: each((i) => postRequest(`/files/${i}`, body)),
    }
    try {
      const results = await interleave(quick ? 2 : 7, {
        holdfast: () =>
          load(
            { milliseconds },
            {
              port: holdfast.port,
              connections: CONNECTIONS,
              request: (i) => requests.holdfast[i] as string,
            },
          ),
        bare: () => load({ milliseconds }, { port: bare.port, connections: CONNECTIONS, request: (i) => requests.bare[i] as string }),
      })
      const rates = (of: 'holdfast' | 'bare'): number[] => results[of].map(({ perSecond }) => perSecond)
      const p99 = (of: 'holdfast' | 'bare'): number[] => results[of].map(({ times }) => percentile(times, 99))
      return [
        figure('against the bare route', 'times', ratios(rates('holdfast'), rates('bare')), { is: 'at least', value: 0.5 }),
        figure('holdfast serve', 'appends/s', rates('holdfast')),
        figure('bare route', 'appends/s', rates('bare')),
        figure('holdfast serve, 99 of 100 requests', 'ms', p99('holdfast')),
        figure('bare route, 99 of 100 requests', 'ms', p99('bare')),
      ]
    } finally {
      await Promise.all([holdfast.stop(), bare.stop()])
    }
  },
}

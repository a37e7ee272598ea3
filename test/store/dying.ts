import type { Engine, Journal } from '../../src/engine/port.ts'

/** An engine whose `count`th write fails, and every one behind it: as if the process had died there. */
export function dyingAt(count: number): { wrap: (engine: Engine) => Engine; hasDied: () => boolean } {
  let writes = 0
  const dies = new Set<string | symbol>(['append', 'overwrite', 'roll', 'purge'])
  const wrap = (engine: Engine): Engine =>
    new Proxy(engine, {
      get: (target, field) => {
        const value = Reflect.get(target, field) as unknown
        if (field !== 'journal') return typeof value === 'function' ? value.bind(target) : value
        return (name: string): Journal => {
          const journal = target.journal(name)
          return new Proxy(journal, {
            get: (inner, call) => {
              const method = Reflect.get(inner, call) as unknown
              if (typeof method !== 'function') return method
              if (!dies.has(call)) return method.bind(inner)
              return (...words: unknown[]) => {
                if (++writes >= count) throw new Error('died')
                return (method as (...all: unknown[]) => unknown).apply(inner, words)
              }
            },
          })
        }
      },
    })
  return { wrap, hasDied: () => writes >= count }
}

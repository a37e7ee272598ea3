/** One line of the table: what came of the same thing with each contender. */
import type { Contender } from './contender.ts'

export interface Row {
  readonly name: string
  /** By the name of the contender; one that has no such thing is not there. */
  readonly cells: Readonly<Record<string, Cell>>
  /** Why Holdfast is not the first of those that sync, for when it is not. */
  readonly whenBehind: string
}

export interface Cell {
  readonly text: string
  /** The less the better. */
  readonly value: number
}

/** Those that sync and are ahead of Holdfast. */
export function ahead({ cells }: Row, contenders: readonly Pick<Contender, 'name' | 'keeps'>[]): string[] {
  const own = cells.Holdfast?.value ?? Number.POSITIVE_INFINITY
  return contenders.filter(({ name, keeps }) => keeps === 'sync' && (cells[name]?.value ?? own) < own).map(({ name }) => name)
}

/** The same of each contender, all at the same time: nothing is timed here. One that fails says so in its cell. */
export async function rowOf(
  about: Pick<Row, 'name' | 'whenBehind'>,
  contenders: readonly Contender[],
  cell: (contender: Contender) => Promise<Cell | undefined>,
): Promise<Row> {
  const cells = await Promise.all(
    contenders.map(async (contender) => {
      const made = await cell(contender).catch((error: Error): Cell => ({ text: `failed: ${error.message}`, value: Number.MAX_VALUE }))
      return made === undefined ? [] : [[contender.name, made] as const]
    }),
  )
  return { ...about, cells: Object.fromEntries(cells.flat()) }
}

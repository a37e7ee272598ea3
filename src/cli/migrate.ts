/** `migrate`: the tables of a store in PostgreSQL, for a user who may change them; servers may then do with less. */
import { migrateStore } from '../engines/postgres/migrate.ts'
import type { Context } from './context.ts'

export async function migrate(context: Context, _: [], { printSql = false }: { readonly printSql?: boolean }): Promise<void> {
  const { out } = context
  const { sql, from, to } = await migrateStore({ url: context.requireDatabase() }, { apply: !printSql })
  if (printSql) return out.result({ from, to, sql }, () => sql.trimEnd())
  await out.result({ from, to }, () =>
    from === to ? `The tables have version ${to} already.` : `The tables have version ${to} now; it was ${from}.`,
  )
}

/**
 * Where the stores of a suite are. Suites that take their stores from here run on every engine unchanged: in memory as a rule, and in PostgreSQL in the
 * project `postgres` of vitest, which says so.
 */
export async function storeAddress(): Promise<string> {
  if (process.env.HOLDFAST_TEST_STORE !== 'postgres') return 'memory:'
  const { newDatabase } = await import('./postgres/database.ts')
  return newDatabase()
}

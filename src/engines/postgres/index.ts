/** The PostgreSQL engine by itself: for whoever brings its tables up to date by means of his own, or puts something of his own in front of it. */
export { type IdentityOf, openPostgresEngine, type PostgresEngineOptions } from './engine.ts'
export { migrateStore, migrationSql, SCHEMA_VERSION } from './migrate.ts'
export type { PostgresPlace } from './place.ts'

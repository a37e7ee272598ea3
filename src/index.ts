/** Holdfast: sessions for AI agents that cannot be lost, doubled or corrupted. */
export { type FilesEngineOptions, openFilesEngine } from './engines/files/engine.ts'
export { openMemoryEngine } from './engines/memory/engine.ts'
export { type ErrorCode, HoldfastError, type HoldfastErrorOptions, type Outcome } from './errors.ts'
export { LIMITS, type Limits } from './record/limits.ts'

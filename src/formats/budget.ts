/**
 * What reading one upload may cost. Counted through all of its layers: the bytes themselves where they are compressed, the files of an archive,
 * and what is compressed inside those.
 */
import { HoldfastError } from '../errors.ts'

export interface BudgetLimits {
  /** After decompression, of all layers together. */
  readonly bytes: number
  readonly files: number
  /** Directories in the path of a file. */
  readonly depth: number
  /** Characters of a path. */
  readonly path: number
}

const DEFAULTS: BudgetLimits = { bytes: 256 * 1024 * 1024, files: 10_000, depth: 64, path: 2048 }

export class Budget {
  readonly limits: BudgetLimits
  #bytes = 0
  #files = 0

  constructor(limits: Partial<BudgetLimits> = {}) {
    this.limits = { ...DEFAULTS, ...limits }
  }

  /** Counts bytes that were decompressed. PAYLOAD_TOO_LARGE if there are too many, as in the other methods. */
  addBytes(length: number): void {
    this.#bytes += length
    const { bytes } = this.limits
    if (this.#bytes > bytes) throw tooLarge(`Its bytes decompress to more than ${bytes}, everything inside it counted.`, bytes)
  }

  /** Counts an entry of an archive: a file, a directory, or a name that is too long for the header of one. */
  addFile(): void {
    this.#files++
    const { files } = this.limits
    if (this.#files > files) throw tooLarge(`The archive has more than ${files} files.`, files)
  }

  /** Called with the length of a name before it is read, and with the path that comes of it. */
  checkPathLength(length: number): void {
    const { path } = this.limits
    if (length > path) throw tooLarge(`The archive has a path of more than ${path} characters.`, path)
  }

  checkDepth(directories: number): void {
    const { depth } = this.limits
    if (directories > depth) throw tooLarge(`The archive has a path of more than ${depth} directories.`, depth)
  }
}

export function tooLarge(message: string, limit: number): HoldfastError {
  return new HoldfastError('PAYLOAD_TOO_LARGE', `${message} Split it, or import it with the command line.`, { details: { limit } })
}

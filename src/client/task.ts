/** A task at a server. */
import { HoldfastError } from '../errors.ts'
import type { TaskApi } from '../store/api/task-api.ts'
import type { WriteOptions, Written } from '../store/handle.ts'
import type { ArchiveInfo, TaskInfo } from '../store/task-info.ts'
import { archiveName } from '../wire/names.ts'
import { sessionCodec } from '../wire/sessions.ts'
import { taskCodec, wholeArchiveCodec } from '../wire/tasks.ts'
import { pathOf } from './path.ts'
import { pause, type Transport } from './transport.ts'

const FIRST_WAIT_MS = 50
const LONGEST_WAIT_MS = 1000

/**
 * A task at a server. A commit returns it.
 *
 * @example
 * const committed = await remote.session('support-42').commit()
 * if (committed.status === 'accepted') await committed.task.completed()
 */
export class RemoteTask implements TaskApi {
  readonly id: string
  readonly archive: number
  readonly session: string
  readonly #transport: Transport

  /** @internal */
  constructor(transport: Transport, { id, session, archive }: Pick<TaskInfo, 'id' | 'session' | 'archive'>) {
    this.#transport = transport
    this.id = id
    this.session = session
    this.archive = archive
  }

  async info(): Promise<TaskInfo> {
    return this.#transport.ask('GET', this.#path, taskCodec.decode)
  }

  async completed({ signal }: { readonly signal?: AbortSignal } = {}): Promise<ArchiveInfo> {
    for (let attempt = 0; ; attempt++) {
      const { status, error } = await this.info()
      if (status === 'completed') return this.#archive()
      if (status === 'failed' || status === 'cancelled') {
        const why = error === null ? '' : `: ${error.message}`
        throw new HoldfastError(
          'FAILED_PRECONDITION',
          `The task was ${status === 'cancelled' ? 'cancelled' : `given up${why}`}. It can be retried.`,
          {
            details: { task_id: this.id, status, error },
          },
        )
      }
      signal?.throwIfAborted()
      await pause(Math.min(FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS), signal)
    }
  }

  async cancel({ key, expect }: WriteOptions = {}): Promise<Written> {
    return this.#begin('cancel', { key, expect })
  }

  async retry(): Promise<Written> {
    return this.#begin('retry', {})
  }

  /** Neither is a change of a caller's, so the version stays what it is. */
  async #begin(what: string, options: { key?: string | undefined; expect?: string | undefined }): Promise<Written> {
    await this.#transport.ask('POST', `${this.#path}/${what}`, taskCodec.decode, options)
    const { version } = await this.#transport.ask('GET', pathOf`/sessions/${this.session}`, sessionCodec.decode)
    return { version, duplicate: false }
  }

  async #archive(): Promise<ArchiveInfo> {
    const path = pathOf`/sessions/${this.session}/archives/${archiveName(this.archive)}`
    return this.#transport.ask('GET', path, wholeArchiveCodec.decode, { query: { format: 'stored' } })
  }

  get #path(): string {
    return pathOf`/tasks/${this.id}`
  }
}

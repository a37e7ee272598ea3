/** A task at a server. */
import { HoldfastError } from '../errors.ts'
import type { WriteOptions, Written } from '../store/handle.ts'
import type { ArchiveInfo, TaskInfo } from '../store/tasks.ts'
import { archiveName, archiveNumber } from '../wire/names.ts'
import { archiveInfo, type TaskFields, taskInfo, type WholeArchiveFields } from '../wire/tasks.ts'
import type { TaskApi } from './api.ts'
import { pause, type Transport } from './transport.ts'

const FIRST_WAIT_MS = 50
const LONGEST_WAIT_MS = 1000

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
    const { result } = await this.#transport.ask<TaskFields>('GET', this.#path)
    return taskInfo(result)
  }

  /** Waits until the summary and the memories are durable. Rejects if the task fails or is cancelled. */
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
    await this.#transport.ask('POST', `${this.#path}/${what}`, options)
    const { headers } = await this.#transport.ask('GET', `/sessions/${encodeURIComponent(this.session)}`)
    return { version: (headers.get('etag') ?? '').replaceAll('"', ''), duplicate: false }
  }

  async #archive(): Promise<ArchiveInfo> {
    const path = `/sessions/${encodeURIComponent(this.session)}/archives/${archiveName(this.archive)}`
    const { result } = await this.#transport.ask<WholeArchiveFields>('GET', path, { query: { format: 'stored' } })
    return archiveInfo(result)
  }

  get #path(): string {
    return `/tasks/${encodeURIComponent(this.id)}`
  }
}

export function taskOf(transport: Transport, fields: Pick<TaskFields, 'task_id' | 'resource_id' | 'archive_id'>): RemoteTask {
  const archive = archiveNumber(fields.archive_id) ?? 0
  return new RemoteTask(transport, { id: fields.task_id, session: fields.resource_id, archive })
}

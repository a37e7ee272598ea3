/**
 * Shares: a token lets its holder read a session as it was when it was shared. The session keeps a digest of the token, and up to which
 * message it shows; the store keeps, by the same digest, where the session is, so that a token tells nothing about it to whoever has it.
 */
import { hash } from 'node:crypto'
import { STORE_SPACE } from '../../engine/names.ts'
import { HoldfastError } from '../../errors.ts'
import { lossError } from '../../journal/loss.ts'
import type { Message } from '../../message/shapes.ts'
import type { JsonObject } from '../../record/record.ts'
import { checkId, checkTime, invalid } from '../../session/check.ts'
import * as decide from '../../session/decide.ts'
import { Handle, type WriteOptions, type Written, written } from '../handle.ts'
import { fingerprintKey, redactorToRead } from '../keys/fingerprint-key.ts'
import { putEntries, readEntry } from '../messages/entries.ts'
import { checkPage, type Page, type PageOptions, Transcript } from '../messages/transcript.ts'
import type { SessionParts, StoreParts } from '../parts.ts'

export interface ShareOptions extends WriteOptions {
  /** When the token expires. Defaults to never. */
  readonly expiresAt?: Date
  /** A token of your own with 256 random bits, so that you can repeat the call. Defaults to a new one. */
  readonly token?: string
  /** Removes keys, tokens and passwords of known forms from what the holder reads. Defaults to false. */
  readonly redact?: boolean
}

export interface Shared extends Written {
  readonly share: string
  readonly token: string
}

/** What the holder of a token sees. */
export interface SharedView<M extends object = Message> {
  readonly title: string | null
  readonly grantedAt: string
  readonly expiresAt: string | null
  readonly messageCount: number
  readonly page: Page<M>
  /** Whose it is, for whoever keeps an account of who has read what; not for the reader. @internal */
  readonly of?: { readonly space: string; readonly session: string; readonly share: string }
}

const INDEX = 'shares'

export async function share(handle: Handle<StoreParts>, options: ShareOptions): Promise<Shared> {
  const { ids, clock, space } = handle.parts
  if (options.expiresAt !== undefined) checkTime('expiresAt', options.expiresAt)
  const token = options.token === undefined ? ids.hex(64) : checkId('`token`', options.token)
  const digest = digestOf(token)
  const id = options.token === undefined ? ids.next(clock.now()) : digestOf(`id of ${token}`).slice(0, 32)
  const expiresAt = options.expiresAt?.toISOString() ?? null
  const redact = options.redact === true
  await handle.liveState()
  // What reads it may not be allowed to write.
  if (redact) await fingerprintKey(handle.parts)
  // The way to it first: if the process dies behind this, it leads to a session that knows nothing of the token.
  await putEntries(indexOf(handle.parts), [{ channel: INDEX, key: digest, value: { space, session: handle.id } }], {})
  const terms = handle.terms('share', redact ? { expiresAt, redact } : { expiresAt }, options)
  const outcome = await handle.submit(terms, (full) =>
    decide.share(full, { share: id, token: digest, expiresAt, ...(redact ? { redact } : {}) }),
  )
  return { ...written(outcome), share: id, token }
}

/** What a token opens; NOT_FOUND if it opens nothing, or nothing any longer; DAMAGED if the session lost what would show that. */
export async function readShared(parts: StoreParts, token: string, options: PageOptions): Promise<SharedView<JsonObject>> {
  if (typeof token !== 'string') throw invalid(`Give the token of a share as a text; got a value of type ${typeof token}.`)
  checkPage(options)
  const digest = digestOf(token)
  const place = await placeOf(parts, digest)
  if (place === undefined) throw noShare()
  const within = { ...parts, space: place.space }
  const handle = new Handle(within, place.session)
  const state = await handle.readableState().catch((error: unknown) => {
    const { loss } = handle.held.replica
    // Who has a token need not learn the id of the session.
    throw loss === undefined ? error : lossError(loss)
  })
  const granted = state.status === 'live' ? state.shares.find((one) => one.digest === digest) : undefined
  const { loss } = handle.held.replica
  // The token was given out for this session: what vanished may have been the record of the share.
  if (granted === undefined && state.status === 'live' && loss !== undefined) throw lossError(loss)
  if (granted === undefined || (granted.expiresAt !== null && Date.parse(granted.expiresAt) <= parts.clock.now())) throw noShare()
  const { at, n, t, grantedAt, expiresAt } = granted
  const transcript = new Transcript(within, place.session, { ...state, head: { at, n, t } })
  const page = await transcript.page({ ...options, archived: true }, { openEnd: false })
  const of = { ...place, share: granted.id }
  const view = { title: state.title, grantedAt, expiresAt, messageCount: n, page, of }
  if (granted.redact !== true) return view
  const clean = await redactorToRead(parts)
  const messages = page.messages.map((stored) => ({ ...stored, message: clean(stored.message) }))
  return { ...view, title: clean(view.title), page: { ...page, messages } }
}

async function placeOf(parts: SessionParts, digest: string): Promise<{ space: string; session: string } | undefined> {
  const index = indexOf(parts)
  if ((await index.state()).status !== 'live') return undefined
  return (await readEntry(index, INDEX, digest))?.value as { space: string; session: string } | undefined
}

function indexOf(parts: SessionParts): Handle {
  return new Handle({ ...parts, space: STORE_SPACE }, INDEX)
}

function digestOf(token: string): string {
  return hash('sha256', token, 'hex')
}

function noShare(): HoldfastError {
  return new HoldfastError(
    'NOT_FOUND',
    'There is no such share: it was revoked, it has expired, or it never existed. Ask for another one.',
    {
      details: { reason: 'no share' },
    },
  )
}

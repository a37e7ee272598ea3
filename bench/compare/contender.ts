/**
 * What somebody would keep sessions in, each behind the same few calls and used as its own documentation would have it used. Where there is a choice, the
 * one that is better for the contender was taken: indexes where there are indexes, ids that make a repeated append happen once where that is easy.
 */
import type { Fetched } from '../fetched.ts'

export interface Message {
  readonly id: string
  readonly role: string
  readonly content: string
}

export interface Contender {
  readonly name: string
  /** One sentence: what it is, and how it is used here. */
  readonly about: string
  /** `sync`: an append resolves once the disk has it. `write`: once the system has it, which a power cut forgets. `memory`: it is nowhere else. */
  readonly keeps: 'sync' | 'write' | 'memory'
  /** What has to be installed for it. */
  readonly fetched?: Fetched
  open(directory: string): Promise<Sessions>
}

export interface Sessions {
  /** Acknowledged when it resolves. */
  append(session: string, message: Message): Promise<unknown>
  /** Many at once, to have something to measure on. */
  fill(session: string, messages: readonly Message[]): Promise<unknown>
  /** The last so many of a session, or all; oldest first. */
  messages(session: string, last?: number): Promise<readonly Message[]>
  /** Whether it tells that something of the session cannot be read as it was written. For those that do not throw then. */
  isDamaged?(session: string): Promise<boolean>
  /** The sessions that changed last, newest first. */
  list(limit: number): Promise<readonly string[]>
  /** Ids of messages that have the word. */
  search(word: string, limit: number): Promise<readonly string[]>
  fork(session: string, as: string): Promise<unknown>
  close(): Promise<unknown>
}

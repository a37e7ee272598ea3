/** What the doctor can find: a closed list of kinds, each with how serious it is and what a person can do. docs/doctor.md shows the same list. */
import { withSession } from '../journal/command-words.ts'
import type { AcknowledgedDamage } from '../session/records.ts'

/** `damage`: something that was stored may be lost. `note`: nothing that was acknowledged is. */
export type Severity = 'damage' | 'note'

export interface Finding {
  /** Empty if it concerns the store and no session of it. */
  readonly session: string
  /** The space of that session; null if nothing tells. */
  readonly space: string | null
  /** First position of the segment, which is also the name of its file. */
  readonly segment: number | null
  /** Byte offset in that file, and how many bytes it concerns. */
  readonly offset: number | null
  readonly length: number | null
  readonly kind: FindingKind
  /** `damage`: something that was stored may be gone. `note`: nothing that was acknowledged is. */
  readonly severity: Severity
  /** What to do, in a sentence, or that nothing needs to be done. */
  readonly action: string
}

const RESTORE_OR_ACCEPT =
  'Restore the session with `holdfast restore-backup <backup> --session <id>`, or run `holdfast accept-damage <id>` to continue without it.'

const KINDS = {
  rotten: ['damage', `These bytes are not what was written. ${RESTORE_OR_ACCEPT.replace('without it', 'without them')} Check the disk.`],
  'lost-page': [
    'damage',
    `Zeros are where a record was. If the power failed here, it may not have been acknowledged. ${RESTORE_OR_ACCEPT}`,
  ],
  'missing-record': ['damage', `A record that was here is missing. ${RESTORE_OR_ACCEPT}`],
  'missing-message': [
    'damage',
    'A message could not be read here when the next one was written, so it is not part of the conversation, even if it can be read again. Run `holdfast accept-damage <id>` to accept that.',
  ],
  'missing-segment': ['damage', `Segments of this session are missing. ${RESTORE_OR_ACCEPT.replace('without it', 'without them')}`],
  'cut-short': ['damage', `The end of this segment is missing. ${RESTORE_OR_ACCEPT}`],
  vanished: ['damage', `These bytes were acknowledged and are no longer there. ${RESTORE_OR_ACCEPT.replace('without it', 'without them')}`],
  'wrong-checkpoint': [
    'damage',
    'This checkpoint does not say what the records before it say. Keep a copy of the files and report this. Run `holdfast accept-damage <id>` to continue.',
  ],
  'wrong-identity': [
    'damage',
    'This journal belongs to another session. Move its files back to where they came from. If they are a copy, move them out of the store and run `holdfast restore-backup <backup> --session <id>`.',
  ],
  'no-identity': ['damage', `The record that says whose journal this is cannot be read. ${RESTORE_OR_ACCEPT}`],
  unreadable: ['damage', 'The rest of the session may be fine: check the disk and the rights, then run the doctor again.'],
  'lost-past': [
    'damage',
    'Messages that this fork shares with another session cannot be read. Restore that session from a backup, or run `holdfast accept-damage <id>` to continue without them.',
  ],
  'ungranted-fork': [
    'damage',
    'Its parent has no record of this fork, so a purge of the parent would remove what they share. Run `holdfast doctor <id> --repair`.',
  ],
  'dangling-parent': ['damage', `The message that this one follows is missing. ${RESTORE_OR_ACCEPT}`],
  'unfinished-erasure': [
    'note',
    'A process died while it erased a message. The message is hidden, but its bytes may still be on the disk. Open the session, or run `holdfast doctor <id> --repair`.',
  ],
  'unfinished-purge': [
    'note',
    'A process died while it purged this session. The session no longer exists, but some of its files do. Purge again, or run `holdfast doctor <id> --repair`.',
  ],
  'unfinished-roll': [
    'note',
    'A writer died, or is at work, before this segment had all that it must begin with: nothing is lost. Write to the session, or run `holdfast doctor <id> --repair`.',
  ],
  sealed: [
    'note',
    'Its lines were verified, but nobody looked into them: open the store with its master key for that. If the key was destroyed, this session is gone.',
  ],
  acknowledged: ['note', 'A person has reviewed and accepted this damage: nothing needs to be done.'],
  'lost-copy': [
    'note',
    'One of the two copies of this record is not what was written; the other one is intact, and nothing is lost. Check the disk.',
  ],
  torn: ['note', 'A writer died here, or is at work: nothing acknowledged is lost, and nothing needs to be done.'],
  unwritten: ['note', 'This never reached the disk, as after a power loss: nothing that was acknowledged stood here.'],
  carried: ['note', 'What was lost here stands again at the beginning of the next segment: nothing needs to be done.'],
  'late-segment': ['note', 'A writer that was late made this purged segment again: it holds nothing, and may be removed.'],
  'newer-version': ['note', 'A newer Holdfast wrote this: use that one to look at it.'],
  'dangling-grant': ['note', 'Nothing needs to be done, but a purge keeps what it would reach.'],
  'stale-index': ['note', 'It is derived. Run `holdfast doctor --repair`, which makes it again.'],
  'no-watermarks': [
    'note',
    'Some sessions have no watermarks: the store was copied or restored, or these files were deleted. Whether those sessions lost their ends before is unknown: compare them with a backup. Losses from their next append on are noticed.',
  ],
  'foreign-file': ['note', 'Holdfast did not make this file and does not touch it: move it elsewhere if you do not need it here.'],
} as const satisfies Record<string, readonly [Severity, string]>

export type FindingKind = keyof typeof KINDS

export function isDamage(kind: FindingKind): boolean {
  return KINDS[kind][0] === 'damage'
}

/** Damage that a person cannot accept, because it can be put right. */
const NOT_ACCEPTABLE: ReadonlySet<FindingKind> = new Set<FindingKind>(['wrong-identity', 'unreadable', 'ungranted-fork'])

/** Whether a person can let the session continue with this damage. */
export function isAcceptable(kind: FindingKind): boolean {
  return isDamage(kind) && !NOT_ACCEPTABLE.has(kind)
}

/** Where something was found. */
export interface FindingPlace {
  readonly segment: number
  readonly offset?: number
  readonly length?: number
}

/** A finding, before it is known whose it is. `detail` is a sentence of its own. */
export interface Problem {
  readonly kind: FindingKind
  readonly place?: FindingPlace | undefined
  readonly detail?: string | undefined
  /** Position of the message that is missed here, where the place is that of the message after it. */
  readonly follows?: number
}

/** A problem as a journal names it once a person has accepted it. */
export function acknowledgedOf({ kind, place }: Problem): AcknowledgedDamage {
  return { kind, segment: place?.segment ?? null, offset: place?.offset ?? null, length: place?.length ?? null }
}

export function findingOf(session: string, problem: Problem, space: string | null = null): Finding {
  const { kind, detail } = problem
  const [severity, general] = KINDS[kind]
  const text = space === null ? general : withSession(general, { id: session, space })
  return {
    session,
    space,
    ...acknowledgedOf(problem),
    kind,
    severity,
    action: detail === undefined ? text : `${detail} ${text}`,
  }
}

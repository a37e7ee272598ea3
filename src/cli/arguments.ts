/** What stands on the command line: its values, checked, and the options that every command has. */
import { resolve } from 'node:path'
import { type ErrorDetails, HoldfastError } from '../errors.ts'
import { archiveNumber } from '../wire/names.ts'

export interface GlobalOptions {
  readonly store?: string
  readonly space?: string
  readonly json?: boolean
  readonly quiet?: boolean
  readonly masterKeyFile?: string
}

export function wrongUsage(message: string, details: ErrorDetails = {}): HoldfastError {
  return new HoldfastError('INVALID_ARGUMENT', message, { details })
}

/** Reads the value of an option that is a whole number. */
export function count(flag: string): (value: string) => number {
  return (value) => {
    const number = Number(value)
    if (!/^\d+$/.test(value) || !Number.isSafeInteger(number)) throw wrongUsage(`${flag} must be a whole number; got "${value}".`)
    return number
  }
}

/** Reads the number of an archive, or its name. */
export function archive(value: string): number {
  const number = archiveNumber(value)
  if (number === undefined) throw wrongUsage(`An archive is a number, or a name such as archive_001; got "${value}".`)
  return number
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 }

/** Reads the value of an option that is a length of time, to milliseconds. */
export function duration(flag: string): (value: string) => number {
  return (value) => {
    const [, amount, unit] = /^(\d{1,9})([smhdw])$/.exec(value) ?? []
    if (amount === undefined || unit === undefined) {
      throw wrongUsage(`${flag} must be a number with a unit, such as 45s, 30m, 12h, 30d or 4w; got "${value}".`)
    }
    return Number(amount) * (UNIT_MS[unit] as number)
  }
}

/** Reads the value of an option that is a moment: a date, a date with a time, or how long ago, such as 7d. */
export function moment(flag: string): (value: string) => Date {
  return (value) => {
    if (/^\d{1,9}[smhdw]$/.test(value)) return new Date(Date.now() - duration(flag)(value))
    const date = new Date(value)
    if (!/^\d{4}-\d\d/.test(value) || Number.isNaN(date.getTime())) {
      throw wrongUsage(`${flag} must be a date such as 2026-11-15 or 2026-11-15T09:30:00Z, or how long ago, such as 7d; got "${value}".`)
    }
    return date
  }
}

/** A workspace is a directory if it looks like one: `.` is this one, wherever it is looked at from. */
export function workspace(value: string): string {
  return /^\.{1,2}(?:[/\\]|$)/.test(value) ? resolve(value) : value
}

/** Collects the values of an option that may be repeated. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value]
}

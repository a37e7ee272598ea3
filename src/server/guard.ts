/**
 * Which pages may talk to this server. A page in a browser can send requests to any address, also to one on this machine, and by pointing a
 * name of its own there it can even read the answers. So a server on loopback answers only to loopback's names, and whatever says that it
 * comes from a page must come from a page of this server, or of one that the operator has named.
 */
import { HoldfastError } from '../errors.ts'

export interface GuardOptions {
  /** Names by which the server may be called; any if it is undefined. */
  readonly hosts: readonly string[] | undefined
  /** Pages of others that may use it, as `https://name[:port]`. */
  readonly origins: readonly string[]
}

export const LOOPBACK_HOSTS = ['localhost', '127.0.0.1', '[::1]']

export function isLoopback(address: string): boolean {
  return address === 'localhost' || address === '::1' || address === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(address)
}

/** PERMISSION_DENIED if the request is meant for somebody else, or comes from a page that has no business here. */
export function guard({ hosts, origins }: GuardOptions, host: string | undefined, origin: string | undefined): void {
  if (hosts !== undefined && (host === undefined || !hosts.includes(nameOf(host)))) {
    const message = 'This server does not accept this host name. Use the address that it printed, or start it with --allow-host <name>.'
    throw new HoldfastError('PERMISSION_DENIED', message, { details: { reason: 'host' } })
  }
  if (origin === undefined || origins.includes(origin)) return
  const own = /^https?:\/\/(.+)$/.exec(origin)?.[1]
  if (own === undefined || own.toLowerCase() !== host?.toLowerCase()) {
    throw new HoldfastError('PERMISSION_DENIED', 'Pages of other origins may not use this server.', { details: { reason: 'origin' } })
  }
}

/** Without the port. */
function nameOf(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, '')
}

/**
 * What the protocol needs of a file system: that appends from several processes land whole and in one order. Local file systems keep
 * that order, network and user-space ones do not. There a store opens only with `exclusive: true`, for one process at a time.
 */
import { HoldfastError } from '../../errors.ts'
import type { Disk } from './disk.ts'

const WITHOUT_APPEND_ORDER =
  /^(nfs\d?|cifs|smb\d?|smbfs|9p|virtiofs|fuse(\..*)?|fuseblk|afs|ceph|lustre|glusterfs|ocfs2|gfs2|vboxsf|prl_fs|drvfs)$/

/** Whether a file system of this type keeps appends of several processes in one order. */
export function keepsAppendOrder(type: string): boolean {
  return !WITHOUT_APPEND_ORDER.test(type)
}

export async function requireAppendOrder(disk: Disk, root: string): Promise<void> {
  const found = await disk.fileSystem(root)
  if (found === undefined || keepsAppendOrder(found.type)) return
  throw new HoldfastError(
    'UNSUPPORTED_FILESYSTEM',
    `The store lies on ${found.mount}, a file system of type ${found.type}, which does not keep appends of several processes in one order. ` +
      'Use a directory on a local disk, a PostgreSQL store, or `exclusive: true` if exactly one process uses this store.',
    { details: { mount: found.mount, type: found.type } },
  )
}

import type { DiskFile } from '../../src/engines/files/disk.ts'

/** A file in memory: what is read from it is what was put there. */
export function memoryFile(content: Buffer): DiskFile {
  let bytes = content
  const read = (offset: number, length: number): Buffer => bytes.subarray(offset, offset + length)
  const write = (more: Uint8Array): number => {
    bytes = Buffer.concat([bytes, more])
    return more.length
  }
  return {
    stat: () => ({ size: bytes.length, links: 1, inode: 1, createdMs: 1, changedMs: bytes.length, device: 1 }),
    readSync: read,
    endsSync: (offset, end) => read(offset - end.length, end.length + 1).equals(end),
    read: async (offset, length) => read(offset, length),
    writeSync: write,
    write: async (more) => write(more),
    sync: async () => undefined,
    close: async () => undefined,
  }
}

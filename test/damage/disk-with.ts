import type { Disk, DiskFile } from '../../src/engines/files/disk.ts'
import { nodeDisk } from '../../src/engines/files/node-disk.ts'

/** The real disk, with some calls done otherwise. `file` gets the path and the file that was opened. */
export function diskWith(calls: Partial<Disk>, file: (path: string, file: DiskFile) => Partial<DiskFile> = () => ({})): Disk {
  const openPlain = calls.open ?? nodeDisk.open
  return {
    ...nodeDisk,
    ...calls,
    open: async (path, mode) => {
      const plain = await openPlain(path, mode)
      return {
        stat: () => plain.stat(),
        readSync: (offset, length) => plain.readSync(offset, length),
        endsSync: (offset, bytes) => plain.endsSync(offset, bytes),
        read: (offset, length) => plain.read(offset, length),
        writeSync: (bytes) => plain.writeSync(bytes),
        write: (bytes) => plain.write(bytes),
        sync: () => plain.sync(),
        close: () => plain.close(),
        ...file(path, plain),
      }
    },
  }
}

import type { Disk, DiskFile } from '../../src/engines/files/disk.ts'
import { nodeDisk } from '../../src/engines/files/node-disk.ts'

/** The disk, with some of what its files do done otherwise. */
export function diskOver(over: (file: DiskFile) => Partial<DiskFile>): Disk {
  return {
    ...nodeDisk,
    open: async (path, mode) => {
      const file = await nodeDisk.open(path, mode)
      const plain: DiskFile = {
        stat: () => file.stat(),
        readSync: (offset, length) => file.readSync(offset, length),
        read: (offset, length) => file.read(offset, length),
        writeSync: (bytes) => file.writeSync(bytes),
        write: (bytes) => file.write(bytes),
        sync: () => file.sync(),
        close: () => file.close(),
      }
      return { ...plain, ...over(file) }
    },
  }
}

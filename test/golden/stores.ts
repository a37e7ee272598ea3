/** Which golden stores there are. */
import { FORMAT_VERSION } from '../../src/record/record.ts'

export const STORES = 'test/golden/stores'

/** Those that were released, with a digest of their bytes. They are never made again, nor changed by a checkout. */
export const RELEASED: Readonly<Record<string, string>> = {
  'format-1': '521da5314cdb8654',
  'format-1-sealed': '3fafb727554b4edd',
}

/** Those of the format that this version writes. Until a release they are made again with each change of the format. */
export const CURRENT = [`format-${FORMAT_VERSION}`, `format-${FORMAT_VERSION}-encrypted`] as const

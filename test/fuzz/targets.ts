/** Everything that is fuzzed. */
import type { Target } from './target.ts'
import * as http from './targets/http.ts'
import * as importers from './targets/importers.ts'
import * as line from './targets/line.ts'
import * as query from './targets/query.ts'
import * as tar from './targets/tar.ts'
import * as upload from './targets/upload.ts'

export const TARGETS: readonly Target[] = [line, tar, query, http, upload, importers].flatMap(({ targets }) => targets)

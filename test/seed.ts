/** Every property is tried on the same cases in each run of `npm test`; `npm run test:long` and `npm run test:random` take others. */
import fc from 'fast-check'
import { SEED } from './long.ts'

fc.configureGlobal({ seed: SEED })

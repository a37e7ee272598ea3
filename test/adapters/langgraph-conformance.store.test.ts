import { testConformance } from './langgraph-conformance.ts'
import { OPENERS } from './openers.ts'

// The others are slower, and have a file among the slow tests.
testConformance(OPENERS[0] as (typeof OPENERS)[number])

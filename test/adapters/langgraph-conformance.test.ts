import { testConformance } from './langgraph-conformance.ts'
import { OPENERS } from './openers.ts'

// The others are slower, and have a file among the slow tests.
for (const opener of OPENERS) if (opener.name === 'memory') testConformance(opener)

import { testConformance } from '../../adapters/langgraph-conformance.ts'
import { OPENERS } from '../../adapters/openers.ts'

for (const opener of OPENERS.slice(1)) testConformance(opener)

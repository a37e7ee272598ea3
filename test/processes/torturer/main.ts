/** A client of a tortured store. Ends what it has begun when its driver wants no more, or is dead. */
import { type ClientOptions, runClient } from '../../torture/client.ts'
import { childOptions, testIsDone } from '../child.ts'

await runClient(childOptions<ClientOptions>(), testIsDone())

/** Calls that can be made to fail, in the order of the bits in `faults.c`. */
export const FAULTS = ['full disk', 'failing write', 'short write', 'failing sync', 'failing read'] as const
export type Fault = (typeof FAULTS)[number]

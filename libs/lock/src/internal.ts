// For scheduled-lock alone: the package does not export this file.
export { LockLease, LockLeases, type LeasePort } from './locks/held-lock';

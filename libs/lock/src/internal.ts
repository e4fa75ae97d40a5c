// Exports for scheduled-lock only. The package does not export this file.
export { LockLease, LockLeases, type LeasePort } from './locks/held-lock';

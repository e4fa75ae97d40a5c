// Only scheduled-lock imports this file. The package does not export it.
export { LockLease, LockLeases, type LeasePort } from './locks/held-lock';

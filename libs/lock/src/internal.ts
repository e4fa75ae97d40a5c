// For scheduled-lock alone: the package does not export this file.
export { Lease, type LeasePort } from './lease/lease';

import {
  beginActivity,
  fillPool,
  openActivity,
  setPause,
  closeBucket,
  voidGrant,
  indexActivity,
  listActivities,
  checkPermissions,
} from './activity/activity.scripts';
import { readGrant, readLuckiest, readRecords } from './activity/results.scripts';
import { grabPacket } from './grabs/grab.scripts';
import { readBucket, sendPackets, receivePackets, confirmTransfer } from './buckets/bucket.scripts';
import { readListPage, readHashPage, readOutboxPage } from './audit/audit.scripts';

export {
  CHUNK_PACKETS,
  beginActivity,
  fillPool,
  openActivity,
  setPause,
  closeBucket,
  voidGrant,
  indexActivity,
  listActivities,
  checkPermissions,
} from './activity/activity.scripts';
export { readGrant, readLuckiest, readRecords } from './activity/results.scripts';
export { GRAB_MODE, grabPacket, type BucketAnswer } from './grabs/grab.scripts';
export {
  readBucket,
  readSent,
  sendPackets,
  receivePackets,
  confirmTransfer,
  type BucketReading,
  type SentPackets,
} from './buckets/bucket.scripts';
export { readListPage, readHashPage, readOutboxPage } from './audit/audit.scripts';

/** Every script of this lib, for registration. */
export const redPacketScripts = [
  beginActivity,
  fillPool,
  openActivity,
  grabPacket,
  readBucket,
  setPause,
  closeBucket,
  sendPackets,
  receivePackets,
  confirmTransfer,
  voidGrant,
  readGrant,
  readLuckiest,
  readRecords,
  readListPage,
  readHashPage,
  readOutboxPage,
  indexActivity,
  listActivities,
  checkPermissions,
];

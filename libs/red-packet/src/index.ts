export type { Amount, AuditOptions, AuditReport, BucketBooks, DeepBooks, PaidPacket } from './audit/audit.types';
export { RedPacketController } from './red-packet.controller';
export {
  ActivityConflictError,
  ActivityIncompleteError,
  InvalidRedPacketInputError,
  MissingPermissionError,
} from './red-packet.errors';
export { RedPacketModule, type RedPacketModuleExtras } from './red-packet.module';
export type {
  EligibilityCheck,
  IdentityResolver,
  RedPacketOptions,
  RedPacketServiceOptions,
} from './red-packet.options';
export { RedPacketService, type ClaimPayouts } from './red-packet.service';
export type {
  ActivityState,
  ActivityStatus,
  ClosedActivity,
  CreateActivity,
  CreatedActivity,
  GrabResult,
  GrantRecord,
  NotOpenReason,
  Packet,
  PayoutConflict,
  PayoutRow,
  RecordsPage,
  SplitMethod,
  VoidedGrant,
} from './red-packet.types';

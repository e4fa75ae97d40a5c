export type { Amount, AuditOptions, AuditReport, BucketBooks, DeepBooks, PaidPacket } from './audit/audit.types';
export type {
  Payout,
  PayoutDeadLetter,
  PayoutDeadLetterPage,
  PayoutHandler,
  PayoutOptions,
  PayoutRun,
  PayoutStats,
} from './payouts/payouts.types';
export type { OpenApiSecurity } from './openapi/openapi';
export { RedPacketPayouts } from './payouts/payouts.service';
export { RedPacketPayoutsController } from './payouts/payouts.controller';
export { RedPacketController } from './red-packet.controller';
export {
  ActivityConflictError,
  ActivityIncompleteError,
  InvalidRedPacketInputError,
  MissingPermissionError,
} from './red-packet.errors';
export { RedPacketModule, type RedPacketModuleExtras } from './red-packet.module';
export type {
  ClosedListener,
  EligibilityCheck,
  IdentityResolver,
  ParticipantName,
  RedPacketModuleOptions,
  RedPacketServiceOptions,
} from './red-packet.options';
export { RedPacketService, type RedPacketHelpers } from './red-packet.service';
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
  RecordsPage,
  ResultRow,
  ResultsPage,
  SplitMethod,
  VoidedGrant,
} from './red-packet.types';

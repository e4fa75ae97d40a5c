export type { Amount, AuditResult, PaidPacket } from './audit/audit.types';
export type {
  Payout,
  PayoutDeadLetter,
  PayoutDeadLetterPage,
  PayoutOptions,
  PayoutRun,
  PayoutStats,
} from './payouts/payouts.types';
export { RedPacketPayouts } from './payouts/payouts.service';
export { RedPacketPayoutsController } from './payouts/payouts.controller';
export { RedPacketController } from './red-packet.controller';
export { ActivityConflictError, ActivityIncompleteError, MissingPermissionError } from './red-packet.errors';
export { RedPacketModule, type RedPacketModuleExtras } from './red-packet.module';
export type { RedPacketModuleOptions } from './red-packet.options';
export { RedPacketService } from './red-packet.service';
export type {
  ActivityState,
  ActivityStatus,
  CloseResult,
  CreateActivity,
  CreateResult,
  GrabResult,
  Grant,
  Packet,
  RecordsPage,
  ResultRow,
  ResultsPage,
  ConflictResult,
} from './red-packet.types';

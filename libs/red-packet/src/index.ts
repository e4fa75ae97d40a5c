export type { AuditResult } from './audit/audit.types';
export type { Payout, PayoutRun } from './payouts/payouts.types';
export { RedPacketPayouts } from './payouts/payouts.service';
export { RedPacketController } from './red-packet.controller';
export { ActivityConflictError, ActivityIncompleteError } from './red-packet.errors';
export { RedPacketModule } from './red-packet.module';
export type { RedPacketModuleOptions } from './red-packet.options';
export { RedPacketService } from './red-packet.service';
export type {
  ActivityStatus,
  CloseResult,
  CreateActivity,
  GrabResult,
  Grant,
  Packet,
  ResultsPage,
} from './red-packet.types';

-- CreateTable
CREATE TABLE "processed_events" (
    "source" TEXT NOT NULL,
    "event_id" TEXT NOT NULL,
    "event_type" TEXT NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT transaction_timestamp(),

    CONSTRAINT "processed_events_pkey" PRIMARY KEY ("source","event_id")
);

-- CreateIndex
CREATE INDEX "processed_events_received_at_idx" ON "processed_events"("received_at");

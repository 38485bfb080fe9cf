/* Header and library are of one version, and every number has a name. */

#include "apf.h"
#include "apf.h" /* twice */
#include "test.h"

int main(void) {
    CHECK_EQ(apf_abi_version(), APF_ABI_VERSION);
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", APF_VERSION_MAJOR, APF_VERSION_MINOR, APF_VERSION_PATCH);
    CHECK(text_is(apf_version(), version));

    /* Numbers that are in programs out there: they never change. */
    CHECK_EQ(APF_OK, 0);
    CHECK_EQ(APF_ERROR_ESTIMATE, 6);
    CHECK_EQ(APF_ERROR_NULL_TICKET, 20);
    CHECK_EQ(APF_ERROR_CONFIGURATION, 40);
    CHECK_EQ(APF_ERROR_OUT_OF_MEMORY, 60);
    CHECK_EQ(APF_ERROR_PANIC, 63);
    CHECK_EQ(APF_REASON_CANCELLED, 4);
    CHECK_EQ(APF_OUTCOME_REJECTED, 3);
    CHECK_EQ(APF_CLOCK_MANUAL, 2);
    CHECK_EQ(APF_TABLE_REQUESTS_WITH_DETAILS, 4);

    CHECK(text_is(apf_status_name(APF_ERROR_STALE_TICKET), "stale-ticket"));
    CHECK(apf_status_text(APF_ERROR_STALE_TICKET).len > 10);
    CHECK(text_is(apf_status_name(12345), "unknown"));
    CHECK(text_is(apf_status_name(-1), "unknown"));
    CHECK(text_is(apf_reason_name(APF_REASON_QUEUE_FULL), "queue-full"));
    CHECK(text_is(apf_reason_name(APF_REASON_CONCURRENCY_LIMIT), "concurrency-limit"));
    CHECK(text_is(apf_reason_name(APF_REASON_TIME_OUT), "time-out"));
    CHECK(text_is(apf_reason_name(APF_REASON_CANCELLED), "cancelled"));
    CHECK_EQ(apf_reason_name(99).len, 0);
    return 0;
}
